/** The client package's entry point. */

export type * from './change-types.ts'
export { AshlarClient, type Readiness } from './client.ts'
export { type ErrorType, errorTypes } from './error-types.ts'
export { AshlarConnectionError, AshlarRequestError, AshlarTimeoutError } from './errors.ts'
export { JsonText } from './json.ts'
export { type LiveEvent, type LiveRowEvent, LiveRows } from './live-query.ts'
export type * from './options.ts'
export { SecurityClient } from './security-client.ts'
export type * from './typed/schema-types.ts'
export type * from './wire.ts'
