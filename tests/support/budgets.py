from bineval.models.budget import Budget, Ledger
from bineval.types import Usage


def spent_ledger(budget: Budget, spent: Usage) -> Ledger:
    """A ledger of work whose earlier sittings have used `spent`."""
    ledger = Ledger(budget)
    ledger.book_earlier("run", spent)
    return ledger
