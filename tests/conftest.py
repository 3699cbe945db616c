import signal

from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("bineval", deadline=None)
settings.load_profile("bineval")

# A job started in the background ignores Ctrl-C, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
