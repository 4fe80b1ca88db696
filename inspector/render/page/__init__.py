"""The page: a report as one HTML file that opens offline, for people and for their browsers.

What it shows is a :class:`inspector.render.page.page_model.Page`: sections of tables, charts and
text, made by the analyses. :mod:`inspector.render.page.document` writes it; the script, the style
and the library that draws lines (uPlot, with its licence) are in ``assets`` and become part of the
file.
"""
