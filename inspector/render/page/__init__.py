"""The page: a report as one HTML file that opens offline, for people and for their browsers.

The analyses make a :class:`inspector.render.page.page_model.Page`, the module ``document`` writes
it; script, style and uPlot, which draws lines, are in ``assets`` and become part of the file.
"""
