/** A process that starts PostgreSQL, with a copy of the data in the folder that is given, tells its address, and holds it until it is ended from outside. */
import { startPostgres } from '../temporary-postgres.ts'

const [template] = process.argv.slice(2)
const { address } = await startPostgres(template === undefined ? {} : { template })
console.log(address)
setInterval(() => undefined, 60_000)
