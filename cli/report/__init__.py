"""Plots and pages for people.

    page        A report as one HTML page that needs nothing else.
    plots       The plots of a report as SVG, in colours that the page chooses.
    layer_plot  The paper's Figure 1 as a picture: what each layer does to its input.

May import: `support`. The one place that knows matplotlib.
"""
