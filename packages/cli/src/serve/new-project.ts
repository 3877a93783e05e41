/** The files of `ashlar new`. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { version } from '@ashlar/server/shared'
import { conflictError, usageError } from '../errors/command-error.ts'
import { makeFolders, unwritable } from '../errors/file-errors.ts'
import { printResult } from '../output/print-result.ts'

const schema = `// The classes of the database. While ashlar dev runs, it is changed each time you save this file.
UPDATE SCHEMA {
  CREATE CLASS Project {code: String{Required}, name: String{Required}, tasks: List{Element: Reference{Referenced: Task, Inverse: project}}}
  CREATE CLASS Task {
    title: String{Required, MinLength: 1},
    status: String{Required, Enumeration: ('open', 'done'), Default: 'open'},
    due: Date,
    project: Reference{Referenced: Project, Inverse: tasks, Required}
  }
};
CREATE UNIQUE INDEX projectCode ON Project (code);
CREATE INDEX taskDue ON Task (due);
`

const program = `import { connect } from 'ashlar'
import type { Schema } from '../schema.d.ts'

const db = connect<Schema>('http://127.0.0.1:8185')

const home = await db.upsert('Project', ['code'], { code: 'home', name: 'Home' })
await db.create('Task', { title: 'Paint the door', due: '2030-05-01', project: home })

const tasks = await db.find('Task', {
  select: { title: true, due: true, project: { name: true } },
  where: { status: 'open' },
  orderBy: { due: 'asc' },
  take: 10,
})
for (const { title, due, project } of tasks) console.log(\`\${due}  \${project.name}: \${title}\`)
`

const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: ['node'],
}

function filesOf(name: string): Readonly<Record<string, string>> {
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts: {
      dev: 'ashlar dev',
      start: 'tsx src/main.ts',
      check: 'ashlar types schema.do --check schema.d.ts && tsc',
    },
    dependencies: { ashlar: `^${version}` },
    devDependencies: { '@types/node': '>=20', tsx: '^4.0.0', typescript: '>=5.4' },
  }
  return {
    'package.json': jsonOf(manifest),
    'tsconfig.json': jsonOf({ compilerOptions, include: ['src', 'schema.d.ts'] }),
    'schema.do': schema,
    'src/main.ts': program,
    '.gitignore': 'node_modules/\ndata/\n',
  }
}

/** Throws CommandError if the folder has files, or cannot be written to. */
export function writeProject(folder: string, isJson: boolean): void {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  if (name === '') throw usageError(`The folder ${folder} gives no name to the project: use letters and digits.`)
  if (isOccupied(folder)) throw conflictError(`The folder ${folder} is not empty: nothing was written.`)
  const files = filesOf(name)
  try {
    for (const [file, text] of Object.entries(files)) {
      makeFolders(dirname(join(folder, file)))
      writeFileSync(join(folder, file), text, { flag: 'wx' })
    }
  } catch (error) {
    throw unwritable(folder, error)
  }
  printResult({ folder, files: Object.keys(files) }, { json: isJson }, () => [
    `Created the project ${name} in ${folder}. Next:`,
    `  cd ${/[^\w./-]/.test(folder) ? JSON.stringify(folder) : folder} && npm install`,
    '  npm run dev      # serves the database, and keeps it and the types up to date with schema.do',
    '  npm start        # in another terminal: runs src/main.ts',
  ])
}

/** Throws CommandError if it is a file, or cannot be read. */
function isOccupied(folder: string): boolean {
  try {
    return existsSync(folder) && readdirSync(folder).length > 0
  } catch (error) {
    throw unwritable(folder, error)
  }
}

function jsonOf(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
