"""What main.cpp measures, by Gymnasium and Stable-Baselines3: answers with a line of JSON.

    peers.py steps ENVIRONMENTS SECONDS   a random policy on CartPoles
    peers.py train AGENT SEED             a training with main.cpp's settings, and its score afterwards"""
import json
import resource
import sys
import time


def spent():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def measure_steps(environments, seconds):
    """Steps a second of processor time: one environment, or the faster of Gymnasium's two vectors."""
    import gymnasium

    def rate(world, act, reset):
        world.reset(seed=1)
        world.action_space.seed(1)
        steps, start = 0, spent()
        while spent() - start < seconds:
            for _ in range(100):
                act(world, reset)
            steps += 100 * environments
        return steps / (spent() - start)

    def act(world, reset):
        _, _, terminated, truncated, _ = world.step(world.action_space.sample())
        if reset and (terminated or truncated):
            world.reset()

    if environments == 1:
        return rate(gymnasium.make("CartPole-v1"), act, True)
    return max(rate(gymnasium.make_vec("CartPole-v1", environments, vectorization_mode=mode), act, False)
               for mode in ("sync", "vector_entry_point"))


def train(agent, seed):
    import torch
    from stable_baselines3 import DQN, PPO, SAC
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(1)
    name, environments, steps, episodes = {"dqn": ("CartPole-v1", 1, 50_000, 100), "ppo": ("CartPole-v1", 8, 100_000, 100),
                                           "sac": ("Pendulum-v1", 1, 10_000, 50)}[agent]
    worlds = make_vec_env(name, environments, seed=seed)
    if agent == "dqn":
        learner = DQN("MlpPolicy", worlds, learning_rate=1e-3, buffer_size=50_000, learning_starts=1000, batch_size=64,
                      gamma=0.99, train_freq=4, gradient_steps=1, target_update_interval=1000, exploration_fraction=0.2,
                      exploration_final_eps=0.05, max_grad_norm=10, policy_kwargs={"net_arch": [64, 64]}, seed=seed,
                      device="cpu")
    elif agent == "ppo":
        learner = PPO("MlpPolicy", worlds, learning_rate=1e-3, n_steps=32, batch_size=256, n_epochs=20, gamma=0.98,
                      gae_lambda=0.8, clip_range=0.2, seed=seed, device="cpu")
    else:
        learner = SAC("MlpPolicy", worlds, learning_rate=1e-3, buffer_size=20_000, learning_starts=1000, batch_size=256,
                      tau=0.005, gamma=0.99, policy_kwargs={"net_arch": [64, 64]}, seed=seed, device="cpu")
    start, clock = spent(), time.monotonic()
    learner.learn(steps)
    used, passed = spent() - start, time.monotonic() - clock
    score, _ = evaluate_policy(learner, make_vec_env(name, 10, seed=seed + 1000), episodes)
    return {"score": float(score), "user": used, "seconds": passed}


if __name__ == "__main__":
    answer = ({"rate": measure_steps(int(sys.argv[2]), float(sys.argv[3]))} if sys.argv[1] == "steps"
              else train(sys.argv[2], int(sys.argv[3])))
    print(json.dumps(answer))
