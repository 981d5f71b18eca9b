"""Reports of calls that were taken from another library, for myriad.torch and myriad.jax."""


class Report(dict):
    """Numbers of calls: {operator: {'taken': number, 'declined': {reason: number}}}."""

    @classmethod
    def of(cls, taken, declined, reset):
        """From counters of operators, and of operators with reasons, which `reset` clears. Other threads may count meanwhile."""
        out = cls()
        for name, number in list(taken.items()):
            out.setdefault(name, {'taken': 0, 'declined': {}})['taken'] = number
        for (name, reason), number in list(declined.items()):
            out.setdefault(name, {'taken': 0, 'declined': {}})['declined'][reason] = number
        if reset:
            taken.clear()
            declined.clear()
        return out

    def __str__(self):
        lines = [f"{'operator':<28}{'taken':>10}{'declined':>10}  why"]
        for name, entry in sorted(self.items()):
            why = ', '.join(f'{reason}: {number}' for reason, number in sorted(entry['declined'].items(), key=lambda x: -x[1]))
            lines.append(f"{name:<28}{entry['taken']:>10}{sum(entry['declined'].values()):>10}  {why}".rstrip())
        return '\n'.join(lines)
