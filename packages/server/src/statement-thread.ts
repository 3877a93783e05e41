/** The program of a statement thread of the server: what it runs beside queries is loaded with the first of it. */
import { serveStatementThread } from '@ashlar/engine'
import { replyOfForm } from './dispatch/query-reply.ts'

serveStatementThread(
  {
    async transaction(data, context) {
      const { runTransactionInThread } = await import('./operations/transaction-in-thread.ts')
      return runTransactionInThread(data, context)
    },
  },
  replyOfForm,
)
