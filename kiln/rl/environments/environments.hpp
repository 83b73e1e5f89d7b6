// The environments of Kiln: the classic control problems and toys of Gymnasium 1.x, with its dynamics, rewards and
// endings, and two of our own. None has a limit of steps; limited() of wrappers.hpp adds one, and kSteps is
// Gymnasium's.
#pragma once
#include <string>
#include <vector>

#include "kiln/rl/environment.hpp"

namespace kiln::rl {

/// A pole on a cart that is pushed left (0) or right (1) (Barto, Sutton, Anderson, "Neuronlike adaptive elements that
/// can solve difficult learning control problems", 1983). The observation is the position in metres, the velocity, the
/// pole's angle in radians and its velocity. The reward is 1 for each step. The episode ends when the cart leaves +-2.4
/// or the pole +-12 degrees.
EnvironmentPtr cart_pole();
inline constexpr std::int64_t kCartPoleSteps = 500;

/// A pendulum that should stand upright, driven by a torque of [-2, 2] newton metres. The observation is cos and sin of
/// its angle from upright, and its velocity. The reward is -(angle^2 + 0.1 velocity^2 + 0.001 torque^2). The episode
/// never ends.
EnvironmentPtr pendulum(double gravity = 10);
inline constexpr std::int64_t kPendulumSteps = 200;

/// A car in a valley whose engine is too weak for the slope (Moore, "Efficient memory-based learning for robot
/// control", 1990). It is pushed left (0), not at all (1) or right (2). The observation is position and velocity, and
/// the reward is -1 for each step. The episode ends at 0.5.
EnvironmentPtr mountain_car();
inline constexpr std::int64_t kMountainCarSteps = 200;
/// A mountain car that is pushed by a force of [-1, 1]. The reward is -0.1 force^2, and 100 at the goal, at 0.45.
EnvironmentPtr continuous_mountain_car();
inline constexpr std::int64_t kContinuousMountainCarSteps = 999;

/// Two links that hang from a hinge; a torque of -1 (0), 0 (1) or 1 (2) at the joint drives the lower one (Sutton,
/// "Generalization in reinforcement learning", 1996; the equations of Sutton and Barto's book). The observation is cos
/// and sin of both angles, and their velocities. The reward is -1 for each step, and 0 for the last. The episode ends
/// when the tip is one link above the hinge.
EnvironmentPtr acrobot();
inline constexpr std::int64_t kAcrobotSteps = 500;

/// A frozen lake: rows of S (start), F (ice), H (hole) and G (goal), on which the agent walks left (0), down (1), right
/// (2) or up (3). The observation is the number of its field. The reward is 1 at the goal; the episode ends there and
/// in holes. On slippery ice each direction except the opposite one has the probability 1 / 3. Throws ArgumentError for
/// a map without start or goal, or with other letters.
EnvironmentPtr frozen_lake(const std::vector<std::string>& map = {"SFFF", "FHFH", "FFFH", "HFFG"},
                           bool slippery = true);
inline constexpr std::int64_t kFrozenLakeSteps = 100;

/// A square room that is crossed from one corner to the other, with the actions of the lake: each step costs 1 /
/// (side^2), and the goal gives 1. The observation is row and column, each from 0 to 1. Throws ArgumentError for a side
/// below 2.
EnvironmentPtr grid_world(std::int64_t side = 5);

/// A picture of one channel, [1, side, side], of 0 and 1: a ball falls from the top, straight or diagonally, and a
/// paddle of three pixels at the bottom is moved left (0), not at all (1) or right (2). An episode has five balls. The
/// reward is 1 for a ball that is caught, and -1 for one that is missed. Throws ArgumentError for a side below 5.
EnvironmentPtr catch_ball(std::int64_t side = 10);

}  // namespace kiln::rl
