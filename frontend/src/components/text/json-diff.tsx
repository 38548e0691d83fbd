import type { JsonChange } from '../../api/types.ts'
import { diff } from '../../strings/everywhere/diff.ts'
import classes from './json-diff.module.css'

/** Changes of a JSON document, one row each: where, what it was, what it is. */
export function JsonDiff({ changes }: { readonly changes: readonly JsonChange[] }) {
  return (
    <table className={classes.diff}>
      <thead>
        <tr>
          <th scope="col">{diff.path}</th>
          <th scope="col">{diff.from}</th>
          <th scope="col">{diff.to}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ op, path, from, to }) => (
          <tr key={`${op} ${path}`}>
            <td className={classes.value}>{path}</td>
            <td className={`${classes.value} ${classes.from}`}>{op === 'add' ? diff.absent : jsonText(from)}</td>
            <td className={`${classes.value} ${classes.to}`}>{op === 'remove' ? diff.absent : jsonText(to)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function jsonText(value: unknown): string {
  return value === undefined ? diff.absent : JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ')
}
