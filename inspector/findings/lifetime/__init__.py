"""Rules about rows that outlive their purpose. One file for each finding."""
