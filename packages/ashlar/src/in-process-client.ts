/** The client of a database in this process. Its types name nothing of the engine, which the package does not publish. */
import type { Connection, DataClient } from '@ashlar/client'

/** Methods of `DataClient`, which documents them: they return and throw the same in process. */
export type InProcessClient = Pick<
  DataClient,
  Exclude<keyof Connection, 'findObject'> | 'readObject' | 'readObjectWithEtag' | 'queryStream' | 'listChanges'
>
