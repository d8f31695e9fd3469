export { checkAdapter } from './import-adapter.js';
export { EXPORT_NAME, REQUIRED_FILES, checkFiles } from './import-files.js';
export { checkGraph } from './import-graph.js';
export { checkMerge, checkSettings } from './import-settings.js';
