"""Spoken digits of speakers who are not in the training set, with the settings of `speech`.

mini: `fractal train speech_speakers --data DIR`
    Some minutes on two cores; its accuracy was not measured.

paper: `fractal train speech_speakers --preset paper --data DIR`
    There are no published settings, these are our own. Not run here.
"""

from .._tasks import register_task
from . import speech

register_task("speech_speakers", config=speech.MINI, paper=(speech.PAPER,))
