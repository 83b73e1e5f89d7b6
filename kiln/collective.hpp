// Includes ranks that train together, as threads or as processes connected by sockets. Programs started by a launcher
// (kiln/collective/launched_ranks.hpp) link the component mpi.
#pragma once
#include "kiln/collective/socket_ranks.hpp"
#include "kiln/collective/thread_ranks.hpp"
