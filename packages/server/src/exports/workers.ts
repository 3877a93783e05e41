/** The primary of a server's worker processes, and crashes of processes, for the program that starts them. Loads neither the engine nor the HTTP server. */
export type { StoreSummary } from '../peers/peers.ts'
export { type Crashed, crashOf, crashSentence, fileBytesMax, lmdbStores } from '../workers/crash.ts'
export { Primary } from '../workers/primary.ts'
