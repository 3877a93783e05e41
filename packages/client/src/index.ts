/** The client package's door. */
export { AshlarClient, type ClientOptions } from './client.ts'
export { AshlarRequestError } from './errors.ts'
export type * from './wire.ts'
