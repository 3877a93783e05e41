/** The package `ashlar`: a database in this process (`open`), or on a server (`connect`), with one interface. */
export * from '@ashlar/client'
export type { OpenOptions } from './in-process/open-options.ts'
export type { InProcessClient } from './in-process-client.ts'
export { type OpenDatabase, open, type Transaction } from './open.ts'
