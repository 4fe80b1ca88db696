"""What facts predict but no byte states: heap, growth, cost. Every number here is an estimate."""
