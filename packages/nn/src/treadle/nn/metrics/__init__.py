"""What is measured beside the loss: functions of one batch, and classes that take in batch after batch.

A function returns an array on the batch's device (0-d, unless it says otherwise). An object takes batches with
``update``, gives the value over all of them with ``compute``, and forgets them with ``reset``.
"""

from treadle.nn.functional._guard import guarded
from treadle.nn.metrics.accuracy import Accuracy, accuracy, top_k_accuracy
from treadle.nn.metrics.average_precision import *
from treadle.nn.metrics.calibration import *
from treadle.nn.metrics.confusion import *
from treadle.nn.metrics.dice import Dice, dice_score
from treadle.nn.metrics.errors import *
from treadle.nn.metrics.metric import Metric
from treadle.nn.metrics.perplexity import Perplexity, perplexity
from treadle.nn.metrics.roc_auc import ROCAUC, roc_auc

__all__ = [
    "ROCAUC", "Accuracy", "AveragePrecision", "CalibrationError", "ConfusionMatrix", "Dice", "F1Score", "LogLoss",
    "MeanAbsoluteError", "MeanSquaredError", "Metric", "Perplexity", "Precision", "Recall", "RootMeanSquaredError",
    "accuracy", "average_precision", "calibration_error", "confusion_matrix", "dice_score", "f1_score", "log_loss",
    "mean_absolute_error", "mean_squared_error", "perplexity", "precision", "recall", "roc_auc",
    "root_mean_squared_error", "top_k_accuracy",
]  # fmt: skip

for _name in __all__:
    if _name.islower():
        globals()[_name] = guarded(globals()[_name])
