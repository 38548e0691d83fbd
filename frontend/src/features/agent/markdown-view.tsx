import { memo, type ReactNode, useId } from 'react'
import Markdown, { type Components, type ExtraProps } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { Scrollable } from '../../components/scrollable.tsx'
import { markdownStrings as strings } from '../../strings/agent.ts'
import { LabelledAddress, MarkdownLink } from './markdown-link.tsx'
import classes from './markdown-view.module.css'

const PLUGINS = [remarkGfm]

/**
 * Draws GitHub-flavored Markdown of a model without trusting it: HTML stays text, images are not loaded, and links to
 * anything but pages (http, https) are text.
 */
export const MarkdownView = memo(({ source }: { readonly source: string }) => {
  const id = useId()
  return (
    <div className={classes.root}>
      <Markdown
        remarkPlugins={PLUGINS}
        remarkRehypeOptions={{ clobberPrefix: `${id}-` }}
        components={COMPONENTS}
        urlTransform={keepAddress}
      >
        {source}
      </Markdown>
    </div>
  )
})

/** `MarkdownLink` judges addresses: those that it refuses are shown as text. */
function keepAddress(address: string): string {
  return address
}

interface Parts {
  readonly children?: ReactNode
}

/** Headings of an answer are below those of the page, so they begin at the third level. */
const First = ({ children }: Parts) => <h3>{children}</h3>
const Second = ({ children }: Parts) => <h4>{children}</h4>
const Third = ({ children }: Parts) => <h5>{children}</h5>

const COMPONENTS: Components = {
  h1: First,
  h2: First,
  h3: Second,
  h4: Third,
  h5: Third,
  h6: Third,
  a: ({ node, id, href = '', children }) =>
    isFootnote(node) ? (
      <a id={id} href={href}>
        {children}
      </a>
    ) : (
      <MarkdownLink address={href} label={children} />
    ),
  img: ({ src, alt }) => <LabelledAddress address={typeof src === 'string' ? src : ''} label={alt} />,
  pre: ({ node, children }) => (
    <Scrollable className={classes.code} label={strings.code(languageOf(node))}>
      <pre>{children}</pre>
    </Scrollable>
  ),
  table: ({ children }) => (
    <Scrollable className={classes.table} label={strings.table}>
      <table>{children}</table>
    </Scrollable>
  ),
  th: ({ style, children }) => (
    <th scope="col" style={style}>
      {children}
    </th>
  ),
  input: ({ checked }) => (
    <input type="checkbox" checked={checked === true} disabled aria-label={checked ? strings.done : strings.open} />
  ),
}

/** Whether a link leads to a footnote of the same answer, or back; no text of an answer can make other links so. */
function isFootnote(link: ExtraProps['node']): boolean {
  return link?.properties['dataFootnoteRef'] !== undefined || link?.properties['dataFootnoteBackref'] !== undefined
}

/** What a fence says its code is (`sql`), or ''. */
function languageOf(pre: ExtraProps['node']): string {
  const [code] = pre?.children ?? []
  const names = code?.type === 'element' ? code.properties['className'] : undefined
  const name = Array.isArray(names) ? names.find((one) => one.startsWith('language-')) : undefined
  return name === undefined ? '' : name.slice('language-'.length)
}
