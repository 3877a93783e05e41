/** An expression with every operation in parentheses, so that a test shows what binds what. */
import type { Expression, ShowStatement } from '../../../src/query/language/ast.ts'
import { operatorText } from '../../../src/query/language/operators.ts'
import { parse } from '../../../src/query/parse/parse.ts'

export function writtenOut(expression: string): string {
  const [statement] = parse(`SHOW ${expression}`)
  return write((statement as ShowStatement).value as Expression)
}

function write(expression: Expression): string {
  switch (expression.kind) {
    case 'literal':
      return typeof expression.literal.value === 'string'
        ? JSON.stringify(expression.literal.value)
        : String(expression.literal.value)
    case 'name':
      return expression.name
    case 'variable':
      return `$${expression.name}`
    case 'system':
      return `$$${expression.name}`
    case 'member':
      return `${write(expression.object)}.${expression.name}`
    case 'subscript':
      return `${write(expression.object)}[${write(expression.subscript)}]`
    case 'slice':
      return `${write(expression.object)}[${optional(expression.from)}:${optional(expression.to)}]`
    case 'operation': {
      const operator = operatorText[expression.operator]
      const operands = expression.operands.map(write)
      return operands.length === 1 ? `(${operator} ${operands[0]})` : `(${operands.join(` ${operator} `)})`
    }
    case 'call':
      return `${expression.name}(${expression.operands.map(write).join(', ')})`
    case 'elements':
      return `${expression.form}{${expression.elements.map(write).join(', ')}}`
    default:
      return `<${expression.kind}>`
  }
}

function optional(expression: Expression | undefined): string {
  return expression === undefined ? '' : write(expression)
}
