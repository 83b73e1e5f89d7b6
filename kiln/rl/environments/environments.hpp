// The environments that come with Kiln: the classic control problems and toys of Gymnasium 1.x, with its dynamics, rewards
// and ends, and two of our own. None has a limit of steps; limited() of wrappers.hpp gives one, and kSteps is what
// Gymnasium takes.
#pragma once
#include <string>
#include <vector>

#include "kiln/rl/environment.hpp"

namespace kiln::rl {

/// A pole on a cart that is pushed left (0) or right (1) (Barto, Sutton, Anderson, "Neuronlike adaptive elements that can
/// solve difficult learning control problems", 1983). Shows position in metres, velocity, the pole's angle in radians and
/// its velocity. 1 for each step; ends where the cart leaves +-2.4 or the pole +-12 degrees.
EnvironmentPtr cart_pole();
inline constexpr std::int64_t kCartPoleSteps = 500;

/// A pendulum that is to stand upright, by a torque of [-2, 2] newton metres. Shows cos and sin of its angle, from
/// upright, and its velocity; the reward is -(angle^2 + 0.1 velocity^2 + 0.001 torque^2), and it never ends.
EnvironmentPtr pendulum(double gravity = 10);
inline constexpr std::int64_t kPendulumSteps = 200;

/// A car in a valley that is too weak for the slope (Moore, "Efficient memory-based learning for robot control", 1990):
/// pushed left (0), not at all (1) or right (2). Shows position and velocity; -1 for each step; ends at 0.5.
EnvironmentPtr mountain_car();
inline constexpr std::int64_t kMountainCarSteps = 200;
/// A mountain car that is pushed by a force of [-1, 1]: the reward is -0.1 force^2, and 100 at the goal, at 0.45.
EnvironmentPtr continuous_mountain_car();
inline constexpr std::int64_t kContinuousMountainCarSteps = 999;

/// Two links that hang from a hinge, the lower driven by a torque of -1 (0), 0 (1) or 1 (2) at the joint (Sutton,
/// "Generalization in reinforcement learning", 1996; the equations of Sutton and Barto's book). Shows cos and sin of both
/// angles and their velocities; -1 for each step, 0 for the last; ends where the tip is a link above the hinge.
EnvironmentPtr acrobot();
inline constexpr std::int64_t kAcrobotSteps = 500;

/// A frozen lake of rows of S (start), F (ice), H (hole) and G (goal), walked left (0), down (1), right (2), up (3). Shows the
/// field's number. 1 at the goal; ends there and in holes. On slippery ice each of the three directions but back has
/// a third. Throws ArgumentError for a map without start or goal, or of other letters.
EnvironmentPtr frozen_lake(const std::vector<std::string>& map = {"SFFF", "FHFH", "FFFH", "HFFG"},
                           bool slippery = true);
inline constexpr std::int64_t kFrozenLakeSteps = 100;

/// A square room, from one corner to the other, walked as the lake is: each step costs 1 / (side^2), and the goal
/// gives 1. Shows row and column, each from 0 to 1. Throws ArgumentError for a side below 2.
EnvironmentPtr grid_world(std::int64_t side = 5);

/// A picture of one channel, [1, side, side], of 0 and 1: a ball falls from the top, straight or askew, and a paddle of three
/// pixels at the bottom is moved left (0), not at all (1) or right (2). Five balls make an episode; 1 for one that is
/// caught, -1 for one that is not. Throws ArgumentError for a side below 5.
EnvironmentPtr catch_ball(std::int64_t side = 10);

}  // namespace kiln::rl
