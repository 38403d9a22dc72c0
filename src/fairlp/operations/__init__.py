"""Operations: what schedulers print, and a report on it. The core works without it."""
