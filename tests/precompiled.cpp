// The target whose precompiled header all tests share; gtest_main has its main().
