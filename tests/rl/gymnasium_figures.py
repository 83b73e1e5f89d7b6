"""Writes gymnasium.safetensors: what Gymnasium's environments answer to the same actions from the same states, for
environments_test.cpp. Needs gymnasium and safetensors:  python3 gymnasium_figures.py gymnasium.safetensors"""
import sys

import gymnasium
import numpy
from safetensors.numpy import save_file

STEPS = 120
# Near ends, walls and limits.
EDGES = {
    "CartPole": [(2.39, 2, 0, 0), (-2.39, -2, 0, 0), (0, 0, 0.2, 2), (1, -3, -0.2, -2)],
    "Pendulum": [(3.1, 7.9), (10, -7.9), (-3.2, 0.5), (0.01, 0)],
    "MountainCar": [(0.49, 0.03), (-1.19, -0.05), (0.3, 0.07), (0.45, 0.065)],
    "ContinuousMountainCar": [(0.44, 0.02), (-1.19, -0.05), (0.3, 0.07), (0.42, 0.0699)],
    "Acrobot": [(2.9, 0.2, 1, 1), (3.1, 3.1, 12, 28), (-3.1, -3.1, -12, -28), (3.0, -0.1, 2, 1)],
}


def walked(name, edges):
    """One row a step: the state before it, the action, what is seen, the reward, the end; from several starts."""
    world = gymnasium.make(name).unwrapped
    random = numpy.random.default_rng(1)
    states, actions, seen, rewards, ends = [], [], [], [], []
    world.reset(seed=1)
    while len(states) < STEPS:
        states.append(numpy.array(world.state, dtype=numpy.float64))
        if isinstance(world.action_space, gymnasium.spaces.Discrete):
            action = int(random.integers(world.action_space.n))
            actions.append([action])
        else:
            action = random.uniform(world.action_space.low, world.action_space.high).astype(numpy.float32)
            actions.append(action)
        observation, reward, terminated, _, _ = world.step(action)
        seen.append(observation)
        rewards.append(float(numpy.asarray(reward).reshape(())))
        ends.append(terminated)
        if terminated or len(states) % 15 == 0:
            world.reset(seed=len(states))
            if len(states) >= STEPS // 2:
                world.state = numpy.array(edges[len(states) // 15 % len(edges)], dtype=world.state.dtype
                                          if isinstance(world.state, numpy.ndarray) else numpy.float64)
    return {"states": numpy.array(states), "actions": numpy.array(actions, dtype=numpy.float32),
            "seen": numpy.array(seen, dtype=numpy.float32), "rewards": numpy.array(rewards),
            "ends": numpy.array(ends, dtype=numpy.uint8)}


def lake(size, slippery):
    """[fields, 4, ways, 4]: the probability, the next field, the reward and the end of each way that a step can go."""
    world = gymnasium.make("FrozenLake-v1", map_name=size, is_slippery=slippery).unwrapped
    table = [[[list(map(float, way)) for way in world.P[field][action]] for action in range(4)]
             for field in range(world.observation_space.n)]
    ways = 3 if slippery else 1
    for field in table:
        for action in range(4):
            field[action] += [[0.0, 0.0, 0.0, 0.0]] * (ways - len(field[action]))
    return numpy.array(table)


class Tape(gymnasium.Env):
    """Plays observations, rewards and ends from lists, whatever the action; an episode begins where the last one ended."""

    def __init__(self, observations, rewards, ends):
        self.observations, self.rewards, self.ends = observations, rewards, ends
        self.observation_space = gymnasium.spaces.Box(-numpy.inf, numpy.inf, observations.shape[1:], numpy.float64)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.at = -1

    def reset(self, *, seed=None, options=None):
        self.at += 1
        return self.observations[self.at], {}

    def step(self, action):
        self.at += 1
        end = self.ends[self.at]
        return self.observations[self.at], self.rewards[self.at], end == 1, end == 2, {}


def normalized():
    """Tapes [environments, rows, ...], and what Gymnasium's vectors make of them: of rewards where episodes end, of
    observations (the first row is that of reset()) where none does, as its wrapper knows no ends within a step."""
    environments, rows, steps = 3, 90, 40
    random = numpy.random.default_rng(2)
    observations = random.normal(size=(environments, rows, 2)) * [1, 30] + [5, -100]
    rewards = random.normal(size=(environments, rows)) * 4 + 1
    ends = random.choice(3, size=(environments, rows), p=[0.8, 0.1, 0.1])

    def vector(ends, mode):
        tapes = [lambda i=i: Tape(observations[i], rewards[i], ends[i]) for i in range(environments)]
        return gymnasium.vector.SyncVectorEnv(tapes, autoreset_mode=mode)

    action = numpy.zeros(environments, dtype=numpy.int64)
    paying = gymnasium.wrappers.vector.NormalizeReward(vector(ends, gymnasium.vector.AutoresetMode.SAME_STEP), gamma=0.9)
    paying.reset()
    paid = [paying.step(action)[1] for _ in range(steps)]
    showing = gymnasium.wrappers.vector.NormalizeObservation(vector(ends * 0, gymnasium.vector.AutoresetMode.NEXT_STEP))
    seen = [showing.reset()[0]] + [showing.step(action)[0] for _ in range(steps)]
    return {"tape.observations": observations, "tape.rewards": rewards, "tape.ends": ends.astype(numpy.uint8),
            "normalized.observations": numpy.array(seen, dtype=numpy.float64),
            "normalized.rewards": numpy.array(paid, dtype=numpy.float64)}


def main():
    figures = normalized()
    for ours, name in {"CartPole": "CartPole-v1", "Pendulum": "Pendulum-v1", "MountainCar": "MountainCar-v0",
                       "ContinuousMountainCar": "MountainCarContinuous-v0", "Acrobot": "Acrobot-v1"}.items():
        for part, array in walked(name, EDGES[ours]).items():
            figures[f"{ours}.{part}"] = array
    for size in ("4x4", "8x8"):
        figures[f"lake.{size}"] = lake(size, False)
        figures[f"lake.{size}.slippery"] = lake(size, True)
    save_file(figures, sys.argv[1], metadata={"gymnasium": gymnasium.__version__})


if __name__ == "__main__":
    main()
