/** The client package's entry point. */
export { AshlarClient } from './client.ts'
export { type ErrorType, errorTypes } from './error-types.ts'
export { AshlarRequestError } from './errors.ts'
export type * from './options.ts'
export { SecurityClient } from './security-client.ts'
export type * from './wire.ts'
