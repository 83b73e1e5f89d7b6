// What the C++ of a page imports from JavaScript: a function of the page, by its number (packaging/npm/src/instance.js).
addToLibrary({
  kiln_call_back__proxy: 'sync',
  kiln_call_back: (number, address, bytes) => Module['kilnCallBack'](number, address, bytes),
});
