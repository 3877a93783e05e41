/** The default program of statement threads, for programs that embed the engine. */
import { serveStatementThread } from './thread-program.ts'

serveStatementThread()
