"""The page: a report as one HTML file that opens offline, for people and for their browsers.

The analyses make its blocks, the module ``document`` writes them; script, style and uPlot, which
draws lines, are in ``assets`` and become part of the file.
"""
