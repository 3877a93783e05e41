/** A process that starts PostgreSQL, tells its address, and holds it until it is ended from outside. */
import { startPostgres } from '../temporary-postgres.ts'

const { address } = await startPostgres()
console.log(address)
setInterval(() => undefined, 60_000)
