/** What the primary starts as a worker: the server alone, without the command line. */
import { tellFailure } from './process.ts'
import { serveAsWorker } from './serve-here.ts'

await tellFailure(serveAsWorker())
