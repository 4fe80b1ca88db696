"""The page: a report as one HTML file that opens offline, for people and for their browsers.

What it shows is a :class:`inspector.render.page.page_model.Page`: sections of tables, charts and
text, made by the analyses. :mod:`inspector.render.page.document` writes it; the scripts, the style
and the two libraries that draw (uPlot for lines, d3-hierarchy for the treemap) are in ``assets``,
each library with its licence, and become part of the file.
"""
