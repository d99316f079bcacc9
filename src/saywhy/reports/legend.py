"""One plain sentence for every metric and method, for readers who have not read the papers."""

from __future__ import annotations

__all__ = ["METHODS", "METRICS", "method_sentence", "metric_sentence"]

METRICS = {
    "accuracy": "How often the model's label is right.",
    "aorc": "How much the output moves when only the strongest pairs are kept, averaged over how many are kept.",
    "attack-success": "How often an attack on the explanation gets through.",
    "auprc": "How well the scores rank the gold words above the others, counted by precision and recall.",
    "auroc": "The chance that a gold word gets a higher score than any other word; 0.5 is guessing.",
    "bleu": "How many word sequences a generated sentence shares with what people wrote.",
    "compactness": "How small a part of the input the explanation keeps.",
    "comprehensiveness": "How much the model's confidence falls when the most important words are taken away.",
    "consistency": "Whether inputs with similar explanations get similar predictions.",
    "contiguity": "How ragged the explanation is: whether its parts hang together.",
    "critic-score": "How well a trained critic finds that sentence and label go together.",
    "exact-inc": "How often all of the gold word pairs are in the explanation.",
    "fidelity": "How far the output moves when only the explanation is kept.",
    "flip-rate": "How often the label changes when the most important words are taken away.",
    "important-tokens": "How many words it takes before the prediction changes.",
    "inter-rep": "How much the generated sentences repeat each other.",
    "iou-f1": "How many marked phrases overlap a gold phrase by at least half.",
    "label-kept": "How often the model still says the same when only the explanation is kept.",
    "log-odds": "How much the odds of the label fall when the most important words are taken away.",
    "loo-correlation": "Whether the scores rank the words as removing them one at a time does.",
    "macro-f1": "Precision and recall of the labels in one number, every class counting the same.",
    "max-f1": "How well the phrase pair that matters most agrees with the gold word pairs.",
    "method-jaccard": "How much the top words of two methods have in common.",
    "model-jaccard": "How much the top words of two equally good models have in common.",
    "perplexity": "How surprising a language model finds the generated sentences.",
    "sensitivity": "How much the explanation changes when the input changes a little.",
    "similarity": "How close the generated sentences are in meaning to what people wrote.",
    "simulatability": "How much better a student predicts the model when it sees the explanations.",
    "soft-inc": "How many of the gold word pairs are in the explanation.",
    "sufficiency": "How far the most important words alone lead the model to the same answer.",
    "token-f1": "Precision and recall of the marked words against the gold words, in one number.",
    "token-precision": "How many of the marked words are gold words.",
    "token-recall": "How many of the gold words are marked.",
    "truth": "How well the scores find the words that really decided the label, known because they were planted.",
}

METHODS = {
    "arec": "Finds the smallest set of word pairs between two texts that keeps the model's answer.",
    "attention": "How much the model looks at each word; not always what it uses.",
    "auto": "The method chosen for what the model offers and the time allowed.",
    "back-select": "Removes the least important word again and again; the last ones left matter most.",
    "co-attention": "How much the words of two texts look at each other.",
    "deeplift": "Shares out the difference to a neutral input, layer by layer.",
    "diffmask": "A trained mask that keeps only the words the answer needs.",
    "gradient": "How strongly the output reacts to a small change of each word.",
    "input-x-gradient": "The gradient times the word's own embedding.",
    "integrated-gradients": "Adds up gradients on the way from an empty input; the scores sum to the change of output.",
    "interaction": "How much more two words do together than each alone.",
    "ivra": "The scores of a model trained so that its own attributions are faithful.",
    "kernel-shap": "Shapley values estimated from many partly erased inputs.",
    "leave-one-out": "How much the output falls when one word is taken away.",
    "lime": "A simple linear model fitted around the input on partly erased copies.",
    "occlusion": "How much the output falls when a window of words or a sentence is taken away.",
    "random": "Scores by chance: what every method must beat.",
    "rationale": "The words that the model itself selected before it answered.",
    "scaled-attention": "Attention times its gradient.",
    "sentence": "The reason in the model's own words.",
    "shapley": "Each word's fair share of the output, over all orders of adding words.",
    "smat": "Attention combined by weights learned so that a student can learn from it.",
}

FAMILIES = {
    "faithfulness": "Whether the explanation says what the model really used.",
    "plausibility": "Whether the explanation agrees with people's or planted reasons.",
}


def metric_sentence(name: str, family: str = "") -> str:
    """What a metric says, or what its family asks where the metric is not known here."""
    return METRICS.get(name) or FAMILIES.get(family, "")


def method_sentence(name: str) -> str:
    """What a method does; empty where it is not known here."""
    return METHODS.get(name, "")
