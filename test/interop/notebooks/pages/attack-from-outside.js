/** Runs in a page of another site: every way to reach a notebook. Resolves with what each one saw. */
export function attackFromOutside(base) {
  const seen = {}
  const attempt = (name, work) =>
    Promise.resolve()
      .then(work)
      .then(
        (result) => void (seen[name] = result),
        (error) => void (seen[name] = `blocked: ${String(error)}`),
      )
  const loaded = (element) =>
    new Promise((resolve, reject) => {
      element.addEventListener('load', () => resolve('loaded'))
      element.addEventListener('error', () => reject(new Error('not loaded')))
      document.body.append(element)
      setTimeout(() => reject(new Error('nothing came')), 1500)
    })
  const element = (tag, attributes) => {
    const made = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    return made
  }
  const text = (response) => response.text().then((body) => `${response.status} ${body}`)
  const send = (method, mode) => () =>
    fetch(`${base}api/kernels`, {
      method,
      mode,
      credentials: 'include',
      ...(method === 'GET' ? {} : { body: '{}' }),
    }).then((response) => (response.type === 'opaque' ? 'blocked: opaque' : text(response)))
  const socket = (protocols) => () =>
    new Promise((resolve, reject) => {
      const opened = new WebSocket(`${base.replace('http', 'ws')}api/kernels/1/channels`, protocols)
      opened.addEventListener('open', () => resolve('opened'))
      opened.addEventListener('error', () => reject(new Error('not opened')))
    })
  const form = (enctype) => async () => {
    const frame = element('iframe', { name: `frame-${enctype}` })
    const made = element('form', { action: `${base}api/kernels`, method: 'post', enctype, target: `frame-${enctype}` })
    made.append(element('input', { name: '{"a":"', value: '"}' }))
    document.body.append(frame, made)
    made.submit()
    return new Promise((_, reject) => setTimeout(() => reject(new Error('nothing to see')), 800))
  }
  return Promise.all([
    ...['cors', 'no-cors'].flatMap((mode) =>
      (mode === 'cors' ? ['GET', 'POST', 'PUT', 'DELETE'] : ['GET', 'POST']).map((method) =>
        attempt(`${method} ${mode}`, send(method, mode)),
      ),
    ),
    attempt('a socket', socket([])),
    attempt('a socket of a kernel', socket(['v1.kernel.websocket.jupyter.org'])),
    attempt('events', () => {
      const source = new EventSource(`${base}events`, { withCredentials: true })
      return new Promise((resolve, reject) => {
        source.addEventListener('open', () => resolve('opened'))
        source.addEventListener('error', () => reject(new Error('not opened')))
      })
    }),
    attempt('a beacon', async () => {
      navigator.sendBeacon(`${base}api/kernels`, '{}')
      throw new Error('nothing to see')
    }),
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'].map((type) =>
      attempt(`a form of ${type}`, form(type)),
    ),
    attempt('an image', () => loaded(element('img', { src: `${base}files/a.png` }))),
    attempt('a script', () => loaded(element('script', { src: `${base}files/a.js` }))),
    attempt('a style', () => loaded(element('link', { rel: 'stylesheet', href: `${base}files/a.css` }))),
    attempt('an object', () => loaded(element('object', { data: `${base}files/a.html` }))),
    attempt('a video', () => loaded(element('video', { src: `${base}files/a.webm`, autoplay: '' }))),
    attempt('a frame', async () => {
      const frame = element('iframe', { src: `${base}lab` })
      await loaded(frame)
      return frame.contentDocument?.body.textContent ?? 'blocked: another origin'
    }),
    attempt('a worker', () => Promise.resolve(String(new Worker(`${base}files/a.js`)))),
    attempt('a prefetch', () => loaded(element('link', { rel: 'prefetch', href: `${base}lab` }))),
  ]).then(() => seen)
}
