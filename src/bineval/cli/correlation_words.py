"""How coefficients of correlation and their levels are called in tables."""

COEFFICIENT_TITLES = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall tau-b"}

LEVEL_WORDS = {
    "pooled": "over all outputs together",
    "group": "in each group of outputs (a document or prompt), then the mean over the groups",
    "system": "of the means of the systems",
}
