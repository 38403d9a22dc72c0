"""Courses of queues against the tree that is followed as a whole, from kink to kink."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
import fairlp.models.trees.courses as courses_module
from fairlp.models.instances.rationals import decimal
from fairlp.models.trees.courses import CoursePlace, Courses
from fairlp.models.trees.tree import rational_tree
from profiles import many
from tree_instances import tree_instance


def left(rng, instance):
    """Return the users who stay, and the tasks of satisfied users who have left."""
    users = np.arange(len(instance.users))
    active = rng.random(len(users)) < 0.6
    active[rng.integers(len(users))] = True
    satisfied = np.where(
        ~active & (rng.random(len(users)) < 0.8), rng.integers(1, 9, len(users)), 0
    )
    return active, satisfied


def courses_after(instance, active, satisfied):
    """Return the courses after all other users have left."""
    courses = Courses(rational_tree(instance, number=decimal), range(len(active)))
    for n in np.flatnonzero(~active).tolist():
        courses.leave(n, int(satisfied[n]))
    return courses


def assert_courses_of_tree(courses, instance, active, satisfied):
    """Compare the courses with the whole tree, from kink to kink."""
    rates = rational_tree(instance, counted=True, number=decimal)
    point = rates.begin(np.array([Fraction(int(tasks)) for tasks in satisfied]))
    # before s[root] rises, children jump
    for motions, length in courses.from_place(CoursePlace(Fraction(0), Fraction(0))):
        distance = Fraction(0)
        while distance < length:
            pace = rates.pace(active, point)
            for n in np.flatnonzero(active).tolist():
                motion, unit = motions[courses.of[n]], courses.unit[n]
                assert pace.rate[n] == motion.rise / unit
                use = motion.place.own + distance * motion.rise
                assert rates.tasks_at(point)[n] == use / unit
            if pace.end == np.inf:
                assert length == np.inf
                return
            point = pace.after(point, pace.end)
            distance += pace.end
        assert distance == length


@pytest.mark.parametrize("seed", range(many(120)))
def test_queues_go_from_kink_to_kink_as_the_whole_tree_does(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, limits=False)
    active, satisfied = left(rng, instance)
    courses = courses_after(instance, active, satisfied)
    assert_courses_of_tree(courses, instance, active, satisfied)


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_course_that_begins_near_a_change_is_the_one_from_zero(seed, monkeypatch):
    """Users leave while stretches of the courses are known already."""
    monkeypatch.setattr(courses_module, "LEAST_PARTS", 3)
    rng = np.random.default_rng(seed)
    users = 24
    queue = [f"a/{n % 8}" if seed % 2 else "/".join(f"{n % 8:03b}") for n in range(users)]
    demands = rng.integers(0, 5, (users, 3)).astype(float)
    demands[:, seed % 3] += 1
    instance = fairlp.Instance.from_arrays(demands, [[100, 200, 300]], queue=queue)
    active = np.full(users, True)
    satisfied = np.zeros(users)
    courses = Courses(rational_tree(instance, number=decimal), range(users))
    stretches = 0
    for leaving in np.split(rng.permutation(users)[: users // 2], 3):
        for n in leaving.tolist():
            active[n] = False
            satisfied[n] = rng.integers(0, 9)
            courses.leave(n, int(satisfied[n]))
        assert_courses_of_tree(courses, instance, active, satisfied)
        stretches = max(stretches, *(len(course.stretches) for course in courses.courses))
    assert stretches > 1


def test_a_queue_waits_until_its_level_is_what_its_satisfied_users_take():
    """Queue a has 4 of 12 already, so that b asks alone until it has as much."""
    instance = fairlp.Instance.from_arrays(np.ones((3, 1)), [[12]], queue=["a", "a", "b"])
    courses = courses_after(instance, np.array([False, True, True]), np.array([4, 0, 0]))
    place, slowness = courses.in_parent(courses.of[1], CoursePlace(Fraction(0)))
    assert place == CoursePlace(Fraction(1, 3)) and slowness == 1
    assert courses.in_parent(courses.of[2], CoursePlace(Fraction(0)))[0] == CoursePlace(Fraction(0))
