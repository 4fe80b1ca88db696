"""What facts predict but no byte states: heap, growth, skew. Every number here is an estimate."""
