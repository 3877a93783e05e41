/** Creates the first administrator of a server with authentication, at its first start (contract 9.2). */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkPassword, type PasswordHashes, refuseCommonPassword } from './password-hashes.ts'
import type { SecurityDatabase } from './security-database.ts'
import { addFirstUser } from './users.ts'

const administrator = 'admin'
const passwordVariable = 'ASHLAR_ADMIN_PASSWORD'
const fileVariable = 'ASHLAR_ADMIN_PASSWORD_FILE'
/** Undefined if there are users already: of several processes that start together, one creates the administrator and reports it. */
export async function makeFirstAdministrator(
  database: SecurityDatabase,
  hashes: PasswordHashes,
  environment: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const [user] = await database.rows('FROM AshlarSecurity.User TAKE 1 RETURN name')
  if (user !== undefined) return undefined
  const configured = await configuredPassword(environment)
  const password = configured ?? randomBytes(18).toString('base64url')
  const passwordHash = await hashes.hash(password)
  if (!(await addFirstUser(database, { name: administrator, roles: ['admin'], passwordHash }))) return undefined
  if (configured !== undefined)
    return `The administrator '${administrator}' was created, with the password of ${sourceOf(environment)}.\n`
  return (
    `The administrator '${administrator}' was created; its password, which is displayed only once: ${password}\n` +
    `Next: sign in with it, or create a token for a program: ashlar token create --name <name> --role writer\n`
  )
}

function sourceOf(environment: NodeJS.ProcessEnv): string {
  return environment[fileVariable] === undefined ? passwordVariable : fileVariable
}

/** Throws an Error with one sentence for the operator. */
async function configuredPassword(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const file = environment[fileVariable]
  const password = file === undefined ? environment[passwordVariable] : readPassword(file)
  if (password === undefined) return undefined
  try {
    checkPassword(password)
    await refuseCommonPassword(password, administrator)
  } catch (error) {
    throw new Error(`${sourceOf(environment)}: ${(error as Error).message}`)
  }
  return password
}

/** Without the trailing line break. */
function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new Error(`The file that ${fileVariable} names cannot be read: ${(error as Error).message}`)
  }
}
