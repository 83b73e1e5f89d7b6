// A program in node sees the variables of its environment, which Emscripten leaves out.
Module["preRun"] = [() => { if (typeof process == "object") Object.assign(ENV, process.env); }];
