"""The four answers of a comparison, from the 95 % and the 90 % interval of the logarithm of a ratio.

Reference: STATISTICS 2.5 of the design; the 90 % interval inside the margins is the two one-sided tests of
D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680, at the level 5 %.
"""

from __future__ import annotations

import math

from assay.records import Conclusion

Interval = tuple[float, float]


def four_way(wide: Interval, narrow: Interval, matters_share: float) -> Conclusion:
    """The conclusion of a contrast; `wide` is its 95 % interval, `narrow` its 90 % interval. The first match wins.

    Beyond the margin on one side: different and matters. The narrow one inside the margins: equivalent where the wide one
    holds 0, else different but immaterial. Else undecided.
    """
    margin = math.log1p(matters_share)
    if wide[0] > margin or wide[1] < -margin:
        return Conclusion.MATTERS
    if -margin < narrow[0] and narrow[1] < margin:
        return Conclusion.EQUIVALENT if wide[0] <= 0 <= wide[1] else Conclusion.IMMATERIAL
    return Conclusion.UNDECIDED
