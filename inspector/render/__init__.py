"""Facts and findings as text. A report is finished data; a renderer only words it."""
