export * from './deciders/index.js';
