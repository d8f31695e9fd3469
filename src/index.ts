export { product } from './core/product.js';
export { CheckFailedError, InputError, ProfileMismatchError } from './core/errors.js';
