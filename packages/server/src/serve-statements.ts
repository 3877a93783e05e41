/** What a statement thread of the server executes; operations other than queries are loaded on first use. */
import { serveStatementThread } from '@ashlar/engine'
import { replyOfForm } from './dispatch/query-reply.ts'

export function serveStatements(): void {
  serveStatementThread(
    {
      async operation(data, context) {
        const { runOperationInThread } = await import('./operations/operation-in-thread.ts')
        return runOperationInThread(data, context)
      },
    },
    replyOfForm,
  )
}
