// The entry of the console in the browser. `data-base` of the page is the path of the tenant, without `/` at its end.
import { render } from 'preact';

render(<h1>Countersign</h1>, document.getElementById('console') ?? document.body);
