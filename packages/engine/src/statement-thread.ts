/** The program of a statement thread of a program that embeds the engine. */
import { serveStatementThread } from './thread-program.ts'

serveStatementThread()
