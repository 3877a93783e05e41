/** The client package's door. */
export { AshlarClient, type ClientOptions, type MatchOptions } from './client.ts'
export { type ErrorType, repeatableTypes } from './error-types.ts'
export { AshlarRequestError } from './errors.ts'
export type * from './wire.ts'
