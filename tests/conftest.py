"""The tests run with the signals of a terminal, also where they were started in the background or by nohup.

There SIGINT, SIGQUIT and SIGHUP are ignored, and every process that is started inherits that.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
