"""Train on sequential MNIST with PyTorch: fractal data smnist; python pytorch_smnist.py"""

import torch

import fractal


def main(task=None, steps=400, batch=50, **options):
    """Train, then print and return the accuracy on the test set."""
    task = task or fractal.tasks.load("smnist")
    options = {"width": 64, "depth": 2, "norm": "batch"} | options
    model = fractal.torch.SequenceModel(task.inputs, task.outputs, tokens=task.tokens, **options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    batches = fractal.tasks.Batches(task, task.splits.train, batch, training=True)
    for step in range(steps):
        examples = batches[step]
        loss = torch.nn.functional.cross_entropy(
            model(torch.tensor(examples.inputs)), torch.tensor(examples.labels).long()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    tests, right = fractal.tasks.Batches(task, task.splits.test, batch, training=False), 0
    for number in range(-(-len(task.splits.test) // batch)):
        examples = tests[number]
        with torch.no_grad():
            guesses = model(torch.tensor(examples.inputs)).argmax(-1).numpy()
        right += int(((guesses == examples.labels) & examples.real).sum())
    print(f"accuracy {right / len(task.splits.test):.3f}")
    return right / len(task.splits.test)


if __name__ == "__main__":
    main()
