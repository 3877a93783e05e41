/** Where authorisation stands: every operation passes here before it runs, alone or in a transaction. */
import type { FederatedDatabase } from '@ashlar/engine'

/**
 * What a caller must be allowed to do. `read`, `write` (objects) and `define` (classes and indexes) concern a federated database;
 * `operate` concerns the server: tools, statements of others, its end.
 */
export type Need = 'read' | 'write' | 'define' | 'operate'

/**
 * Throws where the caller may not do it. `needs`: told when it is asked for, since that of a query takes parsing its text; may throw what
 * the query would be refused for. `fd`: undefined for operations on the service.
 */
export type Authorize = (needs: () => Need, fd: FederatedDatabase | undefined) => void

/** Requests are not authenticated: whoever reaches the server may do everything. */
export const allowAll: Authorize = () => undefined
